"""Where rows come from: CSV and Parquet files, frames, relations."""
