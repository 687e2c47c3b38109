//! RocksDB-format tables and a read-only database, read through a `hyperclock` block cache.
