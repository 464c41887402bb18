"""The other side: a service of its own that counts what really happened there. The tests' only oracle for effects."""
