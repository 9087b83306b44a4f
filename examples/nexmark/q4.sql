-- Nexmark query 4. The mean of the winning prices of each category: an aggregate of an aggregate of a join.

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

CREATE VIEW auction AS
SELECT auction.id, auction.itemName, auction.description, auction.initialBid, auction.reserve, dateTime,
    auction.expires, auction.seller, auction.category, auction.extra
FROM nexmark WHERE event_type = 1;

CREATE VIEW bid AS
SELECT bid.auction, bid.bidder, bid.price, bid.channel, bid.url, dateTime, bid.extra
FROM nexmark WHERE event_type = 2;

CREATE TABLE nexmark_q4 (
    id BIGINT, final BIGINT,
    PRIMARY KEY (id) NOT ENFORCED
) WITH (
    'connector' = 'filesystem', 'path' = 'headpond-out/nexmark-q4', 'format' = 'json'
);

INSERT INTO nexmark_q4
SELECT Q.category, AVG(Q.final)
FROM (
    SELECT MAX(B.price) AS final, A.category
    FROM auction A, bid B
    WHERE A.id = B.auction AND B.dateTime BETWEEN A.dateTime AND A.expires
    GROUP BY A.id, A.category
) Q
GROUP BY Q.category;
