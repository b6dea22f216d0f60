# Inside, the proxy listens on every address of the container, and the outside decides what reaches it:
#
#   docker build -t concertina .
#   docker run --read-only -p 127.0.0.1:8080:8080 -e CONCERTINA_UPSTREAM=https://api.openai.com/v1 \
#     -v concertina:/var/lib/concertina --stop-timeout 35 concertina
#
# or with a file, whose `listen` the image overrides:
#
#   docker run --read-only -p 127.0.0.1:8080:8080 -v "$PWD/concertina.yaml:/etc/concertina/concertina.yaml:ro" \
#     -e CONCERTINA_CONFIG=/etc/concertina/concertina.yaml -v concertina:/var/lib/concertina concertina
#
# It drains for up to 30 s (limits.drain) after SIGTERM, and reads its file again at SIGHUP.

FROM python:3.12-slim AS build
WORKDIR /src
COPY requirements.lock ./
# The lock holds what development needs as well: all of it is fetched by its hashes, and what runs is taken from that.
RUN pip download --no-cache-dir --require-hashes --dest /wheels -r requirements.lock
COPY . .
RUN python -m venv /opt/concertina \
 && /opt/concertina/bin/pip install --no-cache-dir --no-index --find-links /wheels ".[redis,otel]"

FROM python:3.12-slim
RUN useradd --system --uid 10001 --home-dir /var/lib/concertina --create-home concertina
COPY --from=build /opt/concertina /opt/concertina
ENV PATH=/opt/concertina/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    CONCERTINA_LISTEN=0.0.0.0:8080 \
    CONCERTINA_STORE=sqlite:////var/lib/concertina/state.db
USER 10001
WORKDIR /var/lib/concertina
# The one place that is written to; everything else may be read-only.
VOLUME /var/lib/concertina
EXPOSE 8080
# http.client, since urllib would ask the forward proxy of HTTP_PROXY for our own address.
HEALTHCHECK --interval=15s --timeout=3s --start-period=10s CMD ["python", "-c", "\
import http.client, os, sys; \
c = http.client.HTTPConnection('127.0.0.1', int(os.environ['CONCERTINA_LISTEN'].rpartition(':')[2]), timeout=2); \
c.request('GET', '/healthz'); sys.exit(c.getresponse().status != 200)"]
ENTRYPOINT ["concertina"]
CMD ["serve"]
