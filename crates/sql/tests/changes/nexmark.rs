//! The constructs of Nexmark's queries.

use super::common::tables;
use super::result;

#[test]
fn bids_are_counted_by_day_with_filters_and_distinct_values() {
    let lines: String = [
        (1, 10, 500, "2024-01-01 09:05:00"),
        (1, 11, 20_000, "2024-01-01 23:59:59"),
        (2, 10, 2_000_000, "2024-01-02 00:00:00"),
        (1, 10, 700, "2024-01-01 10:00:00"),
    ]
    .iter()
    .map(|(auction, bidder, price, ts)| {
        format!("{{\"auction\":{auction},\"bidder\":{bidder},\"price\":{price},\"dateTime\":\"{ts}\"}}\n")
    })
    .collect();
    let sql = format!(
        "{} INSERT INTO out SELECT DATE_FORMAT(dateTime, 'yyyy-MM-dd') AS `day`,
            max(DATE_FORMAT(dateTime, 'HH:mm')) AS `minute`,
            count(*) AS total_bids,
            count(*) filter (where price < 10000) AS rank1_bids,
            count(*) filter (where price >= 10000 and price < 1000000) AS rank2_bids,
            count(distinct bidder) AS total_bidders,
            count(distinct bidder) filter (where price < 10000) AS rank1_bidders,
            count(distinct auction) filter (where price BETWEEN 10000 AND 1000000) AS rank2_auctions,
            sum(CASE WHEN price > 1000 THEN 1 ELSE 0 END) AS dear
        FROM t GROUP BY DATE_FORMAT(dateTime, 'yyyy-MM-dd');",
        tables(
            "auction BIGINT, bidder BIGINT, price BIGINT, dateTime TIMESTAMP(3)",
            "`day` STRING, `minute` STRING, a BIGINT, b BIGINT, c BIGINT, d BIGINT, e BIGINT, f BIGINT, g BIGINT"
        )
    );
    for rows in 1..=4 {
        assert_eq!(
            result(&lines, &sql, rows),
            ["2024-01-01 | 23:59 | 3 | 2 | 1 | 2 | 1 | 1 | 1", "2024-01-02 | 00:00 | 1 | 0 | 0 | 1 | 0 | 0 | 1"]
        );
    }
}

#[test]
fn a_date_is_formatted_in_the_letters_of_java() {
    let line = "{\"ts\":\"2024-03-07 14:05:09.012\"}\n";
    let sql = format!(
        "{} INSERT INTO out SELECT DATE_FORMAT(ts, 'yy/M/d H:m:s.SSS hh a'), DATE_FORMAT(ts, 'EEE, dd MMM yyyy'),
            DATE_FORMAT(ts, '''at'' yyyyMMdd''T''HHmmss'), DATE_FORMAT('2024-03-07 01:02:03', 'HH'), DATE_FORMAT(CAST(NULL AS TIMESTAMP(3)), 'yyyy') FROM t;",
        tables("ts TIMESTAMP(3)", "a STRING, b STRING, c STRING, d STRING, e STRING")
    );
    assert_eq!(result(line, &sql, 1), ["24/3/7 14:5:9.012 02 PM | Thu, 07 Mar 2024 | at 20240307T140509 | 01 | NULL"]);
}

const AUCTIONS_AND_BIDS: &str =
    "CREATE TABLE auction (id BIGINT, category BIGINT, opened TIMESTAMP(3), expires TIMESTAMP(3))
        WITH ('connector' = 'filesystem', 'path' = '{path}', 'format' = 'json');
    CREATE TABLE bid (auction BIGINT, bidder BIGINT, price BIGINT, dateTime TIMESTAMP(3))
        WITH ('connector' = 'filesystem', 'path' = '{path}', 'format' = 'json');";

/// Lines that are an auction, a bid, or both: a table takes those of its own.
fn auctions_and_bids() -> String {
    let mut lines = String::new();
    for id in 0..6 {
        lines += &format!(
            "{{\"id\":{id},\"category\":{},\"opened\":\"2024-01-01 00:00:00\",\"expires\":\"2024-01-01 01:00:00\"}}\n",
            id % 2
        );
        for bid in 0..5 {
            lines += &format!(
                "{{\"auction\":{id},\"bidder\":{bid},\"price\":{},\"dateTime\":\"2024-01-01 0{}:00:00\"}}\n",
                (id * 37 + bid * 53) % 101,
                bid / 4 + bid % 2
            );
        }
    }
    lines
}

/// The winning bid of each auction: the highest, of equal ones the first, among those before the auction expires.
fn winners() -> Vec<(i32, i32)> {
    let price = |id: i32, bid: i32| (id * 37 + bid * 53) % 101;
    let is_in_time = |bid: i32| bid / 4 + bid % 2 <= 1;
    (0..6).filter_map(|id| (0..5).filter(|bid| is_in_time(*bid)).map(|bid| (id, price(id, bid))).max()).collect()
}

#[test]
fn the_winning_bids_are_averaged_by_category() {
    let sql = format!(
        "{AUCTIONS_AND_BIDS} CREATE TABLE out (category BIGINT, price BIGINT) WITH ('connector' = 'blackhole');
        INSERT INTO out SELECT Q.category, AVG(Q.final) FROM (
            SELECT MAX(B.price) AS final, A.category FROM auction A, bid B
            WHERE A.id = B.auction AND B.dateTime BETWEEN A.opened AND A.expires GROUP BY A.id, A.category) Q
        GROUP BY Q.category;"
    );
    let average = |category: i32| {
        let prices: Vec<i32> =
            winners().into_iter().filter(|(id, _)| id % 2 == category).map(|(_, price)| price).collect();
        format!("{category} | {}", prices.iter().sum::<i32>() / prices.len() as i32)
    };
    for rows in [1, 5, 100] {
        assert_eq!(result(&auctions_and_bids(), &sql, rows), [average(0), average(1)], "in batches of {rows}");
    }
}

#[test]
fn the_winning_bid_is_the_first_row_of_its_auction() {
    let sql = format!(
        "{AUCTIONS_AND_BIDS} CREATE TABLE out (id BIGINT, price BIGINT) WITH ('connector' = 'blackhole');
        INSERT INTO out SELECT id, price FROM (
            SELECT A.*, B.auction, B.bidder, B.price, B.dateTime AS bid_dateTime,
                ROW_NUMBER() OVER (PARTITION BY A.id ORDER BY B.price DESC, B.dateTime ASC) AS rownum
            FROM auction A, bid B WHERE A.id = B.auction AND B.dateTime BETWEEN A.opened AND A.expires)
        WHERE rownum <= 1;"
    );
    let expected: Vec<String> = winners().iter().map(|(id, price)| format!("{id} | {price}")).collect();
    for rows in [1, 5, 100] {
        assert_eq!(result(&auctions_and_bids(), &sql, rows), expected, "in batches of {rows}");
    }
}
