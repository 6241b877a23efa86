"""Tables that stay in their Parquet files, larger than memory: read by column, or by blocks of rows."""
