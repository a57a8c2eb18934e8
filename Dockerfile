# The emulator in a container: no root, no pip, a health check, state in /state if it is asked for, fixtures from /init.
# Python 3.13.15 on Debian trixie: the same bytes for every build, whatever the tag comes to mean.
# "docker buildx imagetools inspect python:3.13-slim" tells the digest of the newest.
ARG BASE=python:3.13-slim@sha256:7c61056e61ac89e852de05f3dc6fa51a6dd2181797bceed46aa725dd7cb2cd3b
# The wheel is the same on every platform, so it is built once, without emulation.
FROM --platform=$BUILDPLATFORM ${BASE} AS wheel
COPY . /source
RUN python -m pip wheel --no-cache-dir --no-deps --wheel-dir /wheels /source
RUN cp /source/constraints.txt /wheels

FROM ${BASE} AS build
COPY --from=wheel /wheels /wheels
RUN python -m venv --without-pip /opt/emulator
RUN python -m pip --python /opt/emulator/bin/python install --no-cache-dir --constraint /wheels/constraints.txt "$(echo /wheels/*.whl)[postgres]"

FROM ${BASE}
RUN python -m pip uninstall --yes --root-user-action ignore pip
COPY --from=build /opt/emulator /opt/emulator
# Fixture files and exported snapshots in /init are loaded at the start. Mount state at /state for this user: uid 4747.
RUN mkdir /init
RUN useradd --system --uid 4747 --home-dir /state --create-home emulator
# By number: Kubernetes can see then that it is not root.
USER 4747
WORKDIR /state
# A port is published on purpose. Where others may reach it, set PAYMENTS_EMULATOR_CONTROL_TOKEN.
ENV PATH=/opt/emulator/bin:$PATH PAYMENTS_EMULATOR_HOST=0.0.0.0 PAYMENTS_EMULATOR_INSECURE=1 PAYMENTS_EMULATOR_PORT=4747
ENV PAYMENTS_EMULATOR_FIXTURES=/init
EXPOSE 4747
HEALTHCHECK --interval=10s --start-period=5s CMD ["payments-emulator", "health"]
ENTRYPOINT ["payments-emulator"]
CMD ["serve"]
