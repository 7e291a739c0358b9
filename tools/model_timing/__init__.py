"""Host logic of measure_models.py; only builders.py and session.py import torch, and only when a case runs."""
