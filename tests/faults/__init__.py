"""Faults that are caused many times: what the user saw, and what readers saw afterwards (`make faults`).

Each fault is caused in a real build in a real folder. After each fault, readers must see a complete build, no process of
the build may still run, and the next build must have the same content as without the fault. Otherwise there is a problem,
and `make faults` fails. The quick part is a test, `tests/integration/test_faults.py`.
"""
