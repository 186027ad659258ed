"""TODO dialogue_warehouse.common"""
