"""TODO dialogue_warehouse.storage"""
