"""What Streamlit runs."""

from pipelines.dashboard.menu import main

main()
