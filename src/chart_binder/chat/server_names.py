"""What each kind of server is called in a message."""

OLLAMA_NAME = "Ollama"
OPENAI_NAME = "the server"
"""Whichever it is of those that speak OpenAI's format."""
