"""Placing runs on workers: the port of an engine that distributes hints, and its adapter for Procrastinate."""
