"""What an operator can do, one function each: the right, the evidence, the decision, the record, the act."""
