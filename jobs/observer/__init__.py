"""The watching process: it keeps in SQL what Redis forgets, and never runs, moves or changes a job."""
