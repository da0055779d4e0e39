# The collector, from the package of scripts/debs: docker build -f packaging/docker/collector.Dockerfile build/debs
FROM debian:bookworm-slim
COPY lagwatch-collector_*.deb /tmp/
RUN apt-get update \
 && apt-get install -y --no-install-recommends ca-certificates \
      systemd-standalone-sysusers systemd-standalone-tmpfiles /tmp/lagwatch-collector_*.deb \
 && rm -rf /tmp/*.deb /var/lib/apt/lists/*
USER lagwatch-collector
VOLUME /var/lib/lagwatch-collector
EXPOSE 8790
# Further flags follow the image's name; a file of settings is mounted, and named by --settings.
ENTRYPOINT ["/usr/bin/lagwatch-collector", "--listen", "0.0.0.0:8790", "--data", "/var/lib/lagwatch-collector"]
CMD ["--log-format", "json"]
