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
