# Hocket's tools, library, Python package and pages on Debian 12 (docs/Building.md):
#
#   docker build -t hocket .
#   docker run --rm hocket hocket-run fmha-fwd --seq-q 512 --heads 2 --device sim --check
#
# With a GPU, and ROCm on the host:
#
#   docker run --rm --device=/dev/kfd --device=/dev/dri -v /opt/rocm:/opt/rocm:ro -e LD_LIBRARY_PATH=/opt/rocm/lib \
#     -v "$PWD:/out" hocket hocket-run first-day --out /out/day1 --quick
FROM debian:12 AS build
WORKDIR /hocket
# Packages alone first: they stay as they are when sources change.
COPY scripts/install-packages.sh scripts/
RUN scripts/install-packages.sh
COPY . .
RUN cmake --preset quickstart -DHOCKET_SIMULATOR_ISAS=all && cmake --build build
RUN cmake --install build --component hocket --prefix /opt/hocket \
 && cmake --install build --component hocket-hip --prefix /opt/hocket \
 && cmake --install build --component python --prefix /opt/hocket/python

FROM debian:12
RUN apt-get update -qq \
 && apt-get install -y -qq --no-install-recommends libllvm22 libmlir-22 libzstd1 zlib1g python3 python3-numpy \
 && rm -rf /var/lib/apt/lists/*
COPY --from=build /opt/hocket /opt/hocket
ENV PATH=/opt/hocket/bin:$PATH PYTHONPATH=/opt/hocket/python
RUN hocket-run fmha-fwd --seq-q 128 --heads 1 --device sim --check && python3 -c "import hocket"
CMD ["hocket-run", "--help"]
