-- J2, sessions: a row per session of each key, to nowhere. Its input and settings: docs/benchmarks/j2-j3.md.

SET 'execution.checkpointing.dir' = 'file:headpond-out/checkpoints';
SET 'execution.checkpointing.interval' = '10 s';

CREATE TABLE events (
  ts BIGINT, k BIGINT, v INT, name STRING,
  t AS TO_TIMESTAMP_LTZ(ts, 3),
  WATERMARK FOR t AS t - INTERVAL '2' SECOND
) WITH ('connector' = 'filesystem', 'path' = 'headpond-out/events.csv', 'format' = 'csv');

CREATE TABLE sessions (k BIGINT, events BIGINT, v_sum BIGINT)
  WITH ('connector' = 'blackhole');

INSERT INTO sessions
SELECT k, COUNT(*), SUM(v)
FROM TABLE(SESSION(TABLE events PARTITION BY k, DESCRIPTOR(t), INTERVAL '30' SECONDS))
GROUP BY k, window_start, window_end;
