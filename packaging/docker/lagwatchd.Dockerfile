# lagwatchd, from the package of scripts/debs: docker build -f packaging/docker/lagwatchd.Dockerfile build/debs
# It watches the programs of the machine whose process ids it sees (--pid=host):
#   docker run --pid=host --cap-drop=ALL --cap-add=SYS_PTRACE --cap-add=PERFMON --cap-add=DAC_READ_SEARCH \
#     --security-opt apparmor=unconfined -v /etc/lagwatch:/etc/lagwatch:ro -v /var/lib/lagwatchd:/var/lib/lagwatchd IMAGE
FROM debian:bookworm-slim
COPY lagwatch_*.deb /tmp/
RUN apt-get update \
 && apt-get install -y --no-install-recommends ca-certificates /tmp/lagwatch_*.deb \
 && rm -rf /tmp/*.deb /var/lib/apt/lists/*
VOLUME /var/lib/lagwatchd
ENTRYPOINT ["/usr/bin/lagwatchd"]
CMD ["--config", "/etc/lagwatch/watch.toml"]
