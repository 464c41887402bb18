"""Page reads: what the broker knows, joined with what was declared and decided, restricted to what one may see.

Nothing here hands a hidden argument, or a text that was not masked, to a template.
"""
