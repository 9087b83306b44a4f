-- Nexmark query 17. Bids of every auction and day, and their prices: an unbounded aggregate.

-- The events: made by the connector, which follows the benchmark's definition.
CREATE TABLE nexmark (
    event_type INT,
    person ROW<id BIGINT, name STRING, emailAddress STRING, creditCard STRING, city STRING, state STRING,
        dateTime TIMESTAMP(3), extra STRING>,
    auction ROW<id BIGINT, itemName STRING, description STRING, initialBid BIGINT, reserve BIGINT,
        dateTime TIMESTAMP(3), expires TIMESTAMP(3), seller BIGINT, category BIGINT, extra STRING>,
    bid ROW<auction BIGINT, bidder BIGINT, price BIGINT, channel STRING, url STRING, dateTime TIMESTAMP(3),
        extra STRING>,
    dateTime AS CASE
        WHEN event_type = 0 THEN person.dateTime
        WHEN event_type = 1 THEN auction.dateTime
        ELSE bid.dateTime
    END,
    WATERMARK FOR dateTime AS dateTime - INTERVAL '4' SECOND
) WITH (
    'connector' = 'nexmark',
    'next-event.rate' = '10000',
    'events.num' = '1000000'
);

CREATE VIEW bid AS
SELECT bid.auction, bid.bidder, bid.price, bid.channel, bid.url, dateTime, bid.extra
FROM nexmark WHERE event_type = 2;

CREATE TABLE nexmark_q17 (
    auction BIGINT, `day` STRING, total_bids BIGINT, rank1_bids BIGINT, rank2_bids BIGINT, rank3_bids BIGINT,
    min_price BIGINT, max_price BIGINT, avg_price BIGINT, sum_price BIGINT,
    PRIMARY KEY (auction, `day`) NOT ENFORCED
) WITH (
    'connector' = 'filesystem', 'path' = 'headpond-out/nexmark-q17', 'format' = 'json'
);

INSERT INTO nexmark_q17
SELECT
    auction,
    DATE_FORMAT(dateTime, 'yyyy-MM-dd') AS `day`,
    COUNT(*) AS total_bids,
    COUNT(*) FILTER (WHERE price < 10000) AS rank1_bids,
    COUNT(*) FILTER (WHERE price >= 10000 AND price < 1000000) AS rank2_bids,
    COUNT(*) FILTER (WHERE price >= 1000000) AS rank3_bids,
    MIN(price) AS min_price,
    MAX(price) AS max_price,
    AVG(price) AS avg_price,
    SUM(price) AS sum_price
FROM bid
GROUP BY auction, DATE_FORMAT(dateTime, 'yyyy-MM-dd');
