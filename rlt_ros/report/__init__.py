"""`rlt report`: a run, or several, as one page."""
