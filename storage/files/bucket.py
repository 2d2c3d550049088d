"""Contents of files in a bucket that speaks the protocol of S3 (D455). Needs the packages of requirements-s3.txt."""

from __future__ import annotations

from typing import Any

from botocore.config import Config
from storages.backends.s3 import S3Storage

# Seconds to reach the bucket, and to wait for its next bytes. Callers get 503 afterwards and can try again.
CONNECT, READ = 5, 30
ATTEMPTS = 3
# Bytes of a content that is read whole, from which on it goes through a file.
MEMORY = 1024 * 1024
# Other object stores than Amazon's need not know buckets as parts of host names, nor the newest checksums.
COMPATIBLE: dict[str, Any] = {
    "s3": {"addressing_style": "path"},
    "request_checksum_calculation": "when_required",
    "response_checksum_validation": "when_required",
}


class BucketStorage(S3Storage):
    """The storage of Django for contents in a bucket; `options` are name, folder, endpoint and region."""

    def __init__(self, **options: Any) -> None:
        config = Config(
            connect_timeout=CONNECT,
            read_timeout=READ,
            retries={"total_max_attempts": ATTEMPTS, "mode": "standard"},
            **(COMPATIBLE if "endpoint_url" in options else {}),
        )
        super().__init__(file_overwrite=True, default_acl=None, max_memory_size=MEMORY, client_config=config, **options)
