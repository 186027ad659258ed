"""The report: a static site about the published build, which opens from disk with no network.

`contents` reads what the pages say from the published tables, `grids` lays measured tables side by side, `site` writes
the pages. What they look like is in `templates/`; no page loads anything but `report.css` and `report.js` beside it.
"""
