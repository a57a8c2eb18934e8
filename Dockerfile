# The emulator in a container: no root, a health check, state in /state if it is asked for.
FROM python:3.11-slim AS build
COPY . /source
RUN python -m venv /opt/emulator && /opt/emulator/bin/pip install --no-cache-dir /source

FROM python:3.11-slim
COPY --from=build /opt/emulator /opt/emulator
RUN useradd --system --uid 4747 --home-dir /state --create-home emulator
USER emulator
WORKDIR /state
# A port is published on purpose. Where others may reach it, set PAYMENTS_EMULATOR_CONTROL_TOKEN.
ENV PATH=/opt/emulator/bin:$PATH PAYMENTS_EMULATOR_HOST=0.0.0.0 PAYMENTS_EMULATOR_INSECURE=1 PAYMENTS_EMULATOR_PORT=4747
EXPOSE 4747
HEALTHCHECK --interval=10s --start-period=5s CMD ["payments-emulator", "health"]
ENTRYPOINT ["payments-emulator"]
CMD ["serve"]
