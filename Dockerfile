# The image of Replan with its servers and acquisitions. `compose.yaml` runs it; docs/how-to/deploy.md explains both.

# Use the Python that the tests run on; pin the image by its digest where builds must be repeatable.
FROM python:3.11-slim-bookworm AS build
WORKDIR /src
COPY requirements-deploy.lock ./
RUN python -m venv /opt/replan
RUN /opt/replan/bin/pip install --disable-pip-version-check --no-cache-dir --require-hashes -r requirements-deploy.lock
COPY pyproject.toml README.md CHANGELOG.md LICENSE ./
COPY runtime runtime
COPY actors actors
COPY replan replan
COPY prompts prompts
COPY configs configs
COPY packages/server packages/server
COPY packages/acquire packages/acquire
RUN /opt/replan/bin/pip install --disable-pip-version-check --no-cache-dir --no-deps --no-build-isolation . ./packages/server ./packages/acquire

FROM python:3.11-slim-bookworm
RUN groupadd --gid 10001 replan
RUN useradd --uid 10001 --gid 10001 --no-create-home --home-dir /var/lib/replan --shell /usr/sbin/nologin replan
RUN install --directory --owner replan --group replan --mode 0700 /var/lib/replan
COPY --from=build /opt/replan /opt/replan
ENV PATH=/opt/replan/bin:/usr/local/bin:/usr/bin:/bin
ENV REPLAN_HOME=/var/lib/replan PYTHONDONTWRITEBYTECODE=1
# The root may be read-only: the program writes only to its home and to /tmp.
USER 10001:10001
WORKDIR /var/lib/replan
ENTRYPOINT ["replan"]
CMD ["worker", "--concurrency", "100", "--health-port", "8439", "--json"]
