-- J3, an interval join: rows of two streams with one key, at most 30 s apart, to nowhere. Its input and settings:
-- docs/benchmarks/j2-j3.md.

SET 'execution.checkpointing.dir' = 'file:headpond-out/checkpoints';
SET 'execution.checkpointing.interval' = '10 s';

CREATE TABLE a (
  ts BIGINT, k BIGINT, v INT, name STRING,
  t AS TO_TIMESTAMP_LTZ(ts, 3),
  WATERMARK FOR t AS t - INTERVAL '2' SECOND
) WITH ('connector' = 'filesystem', 'path' = 'headpond-out/left.csv', 'format' = 'csv');

CREATE TABLE b (
  ts BIGINT, k BIGINT, v INT, name STRING,
  t AS TO_TIMESTAMP_LTZ(ts, 3),
  WATERMARK FOR t AS t - INTERVAL '2' SECOND
) WITH ('connector' = 'filesystem', 'path' = 'headpond-out/right.csv', 'format' = 'csv');

CREATE TABLE pairs (k BIGINT, a_v BIGINT, b_v BIGINT)
  WITH ('connector' = 'blackhole');

INSERT INTO pairs
SELECT a.k, a.v, b.v
FROM a JOIN b ON a.k = b.k AND a.t BETWEEN b.t - INTERVAL '30' SECOND AND b.t + INTERVAL '30' SECOND;
