"""Training of an interviewer on dialogues (CliniChatGLM)."""
