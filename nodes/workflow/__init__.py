"""The clinical workflow: who admits, recalls, discusses, decides, judges and examines (MedChain-Agent)."""
