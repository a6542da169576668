"""Make a bucket of an object store: ``python -m tests.faults.bucket NAME``."""

import sys

import s3fs

s3fs.S3FileSystem().mkdir(sys.argv[1])
