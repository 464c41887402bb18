"""`make run`: everything a person needs to try opsboard, started in one terminal and stopped with it."""
