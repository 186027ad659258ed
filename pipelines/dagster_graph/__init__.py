"""All of Dagster: assets, checks, jobs, schedules, sensors, a resource, the instance, and a build by the command.

What belongs here: definitions for Dagster. What does not: how a step does its work (`pipelines.building`).
"""
