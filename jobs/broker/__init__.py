"""Everything that knows Redis and RQ: raw reads that never act, and guarded commands that act once."""
