-- A small job that takes a checkpoint every few milliseconds, for ever: what do many of them leave behind?
-- docs/benchmarks/many-checkpoints.md
SET 'execution.checkpointing.interval' = '1 ms';
SET 'execution.checkpointing.dir' = 'file:headpond-out/checkpoints';

CREATE TABLE events (
  id BIGINT
) WITH (
  'connector' = 'datagen',
  'rows-per-second' = '20000',
  'splits' = '1',
  'fields.id.kind' = 'sequence'
);

CREATE TABLE totals (
  k BIGINT,
  n BIGINT,
  PRIMARY KEY (k) NOT ENFORCED
) WITH (
  'connector' = 'filesystem',
  'path' = 'headpond-out/totals',
  'format' = 'json'
);

INSERT INTO totals SELECT id % 1000, COUNT(*) FROM events GROUP BY id % 1000;
