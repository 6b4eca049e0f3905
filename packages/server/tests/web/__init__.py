"""Tests of the web page and the HTTP API."""
