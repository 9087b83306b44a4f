-- Flights and departure delays of each carrier. Paths are relative to the current directory.

SET 'state.backend.type' = 'rocksdb';
SET 'execution.checkpointing.interval' = '200 ms';
SET 'execution.checkpointing.dir' = 'file:headpond-out/checkpoints';

CREATE TABLE flights (
  `year` INT,
  `month` INT,
  `day` INT,
  dep_time INT,
  sched_dep_time INT,
  dep_delay DOUBLE,
  arr_time INT,
  sched_arr_time INT,
  arr_delay DOUBLE,
  carrier STRING,
  flight INT,
  tailnum STRING,
  origin STRING,
  dest STRING,
  air_time DOUBLE,
  distance DOUBLE,
  `hour` INT,
  `minute` INT,
  time_hour TIMESTAMP(3),
  WATERMARK FOR time_hour AS time_hour - INTERVAL '1' DAY
) WITH (
  'connector' = 'filesystem',
  'path' = 'examples/flights/flights-2013-01.csv.gz',
  'format' = 'csv',
  'csv.header' = 'true',
  'csv.null-literal' = 'NA'
);

-- The current totals, as JSON lines: a new snapshot file replaces the old one at each checkpoint.
CREATE TABLE totals (
  carrier STRING,
  flights BIGINT,
  delay_sum DOUBLE,
  delay_avg DOUBLE,
  PRIMARY KEY (carrier) NOT ENFORCED
) WITH (
  'connector' = 'filesystem',
  'path' = 'headpond-out/totals',
  'format' = 'json'
);

-- The same on the screen. With a key, the final rows are shown at the end.
CREATE TABLE shown (
  carrier STRING,
  flights BIGINT,
  delay_sum DOUBLE,
  delay_avg DOUBLE,
  PRIMARY KEY (carrier) NOT ENFORCED
) WITH (
  'connector' = 'print'
);

INSERT INTO totals
SELECT carrier, COUNT(*), SUM(dep_delay), AVG(dep_delay) FROM flights GROUP BY carrier;

INSERT INTO shown
SELECT carrier, COUNT(*), SUM(dep_delay), AVG(dep_delay) FROM flights GROUP BY carrier;
