"""A long job done right, to learn from: from the click on “export” to the file, the mail, and the worker behind them.

Who asks gets an answer at once and may close the tab. The record is ours, and its state is that of its operation.
"""
