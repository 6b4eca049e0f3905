"""The option that rewrites what histories expect, for a change that is meant: look at the difference afterwards."""


def pytest_addoption(parser):
    parser.addoption("--rewrite-histories", action="store_true", help="write the transcripts anew")
