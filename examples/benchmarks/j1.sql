-- J1, running totals: an update per key of every batch, to nowhere. Its input and settings: docs/benchmarks/j1.md.

SET 'execution.checkpointing.dir' = 'file:headpond-out/checkpoints';

CREATE TABLE events (ts BIGINT, k BIGINT, v INT, name STRING)
  WITH ('connector' = 'filesystem', 'path' = 'headpond-out/events.csv', 'format' = 'csv');

CREATE TABLE totals (k BIGINT, events BIGINT, v_sum BIGINT)
  WITH ('connector' = 'blackhole');

INSERT INTO totals SELECT k, COUNT(*), SUM(v) FROM events GROUP BY k;
