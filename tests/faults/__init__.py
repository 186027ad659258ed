"""Faults, made to happen over and over: what the user saw of each, and what was left (`make faults`).

Each fault happens to a real build of a real folder; after it, whatever it was, readers see a whole build, nothing of ours
runs any more, and the next build comes to what it would have come to without the fault. What does not is a problem, and
`make faults` fails. The quick part is a test, `tests/integration/test_faults.py`.
"""
