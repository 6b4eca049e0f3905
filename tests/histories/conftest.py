"""The option that rewrites the transcripts after an intended change; review the difference afterwards."""


def pytest_addoption(parser):
    parser.addoption("--rewrite-histories", action="store_true", help="write the transcripts anew")
