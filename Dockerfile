# A static binary in an image without a shell, run as nobody in particular.
FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=dev
RUN CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X main.version=${VERSION}" -o /louver ./cmd/louver

FROM gcr.io/distroless/static-debian12:nonroot
COPY --from=build /louver /louver
USER 65532:65532
ENV LOUVER_HTTP_ADDR=0.0.0.0:8080 LOUVER_METRICS_ADDR=0.0.0.0:9797
EXPOSE 8080 9797
HEALTHCHECK --interval=10s --timeout=3s CMD ["/louver", "healthcheck"]
ENTRYPOINT ["/louver"]
CMD ["run"]
