"""Fine-tuning of an interviewer on dialogues (CliniChatGLM)."""
