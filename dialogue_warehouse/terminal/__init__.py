"""TODO dialogue_warehouse.terminal"""
