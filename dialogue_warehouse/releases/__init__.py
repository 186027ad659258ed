"""TODO dialogue_warehouse.releases"""
