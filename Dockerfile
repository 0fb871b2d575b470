# An image for workers: the static program, and a shell for the scripts of batch systems.
# Build the program first: `cargo xtask package program`. Then: `docker build -t crossgrain .`
FROM busybox:stable-musl
COPY target/x86_64-unknown-linux-musl/release/crossgrain /bin/crossgrain
WORKDIR /work
CMD ["crossgrain", "--help"]
