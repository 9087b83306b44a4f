-- Two gigabytes of state in a RocksDB budget of 128 MB, and one tick that closes a window over all of it.

SET 'state.backend.type' = 'rocksdb';
SET 'state.backend.rocksdb.memory.fixed-per-tm' = '128 mb';
SET 'execution.checkpointing.interval' = '20 s';
SET 'execution.checkpointing.dir' = 'file:headpond-out/checkpoints';

CREATE TABLE rows_of_200_bytes (k BIGINT, payload STRING, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '1' SECOND)
  WITH ('connector' = 'datagen', 'number-of-rows' = '12000000', 'rows-per-second' = '100000000', 'seed' = '7',
        'fields.k.min' = '0', 'fields.k.max' = '9999999', 'fields.payload.length' = '200');

CREATE TABLE counts (k BIGINT, events BIGINT, greatest STRING, window_start TIMESTAMP(3))
  WITH ('connector' = 'filesystem', 'path' = 'headpond-out/counts', 'format' = 'csv');

INSERT INTO counts
SELECT k, COUNT(*), SUBSTR(MAX(payload), 1, 4), window_start
FROM TABLE(TUMBLE(TABLE rows_of_200_bytes, DESCRIPTOR(ts), INTERVAL '36500' DAY))
GROUP BY k, window_start, window_end;
