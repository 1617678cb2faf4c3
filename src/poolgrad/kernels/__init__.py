"""Kernels: a plan and memory in, filled memory out. No user arguments are seen here."""
