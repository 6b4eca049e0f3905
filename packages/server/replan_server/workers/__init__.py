"""Placing runs on workers: the port of an engine that hands out hints, and its adapter for Procrastinate."""
