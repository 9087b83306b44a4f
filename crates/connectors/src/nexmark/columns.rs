//! The columns of events.

use arrow_array::builder::{Int32Builder, Int64Builder, StringBuilder, TimestampMillisecondBuilder};
use arrow_array::{ArrayRef, StructArray};
use arrow_buffer::NullBufferBuilder;
use arrow_schema::{DataType, Field, Fields, TimeUnit};
use headpond_runtime::Result;
use headpond_runtime::batch::arrow_error;
use nexmark::event::{Auction, Bid, Event, Person};
use std::sync::Arc;

const TIMESTAMP: DataType = DataType::Timestamp(TimeUnit::Millisecond, None);

const PERSON: &[(&str, DataType)] = &[
    ("id", DataType::Int64),
    ("name", DataType::Utf8),
    ("emailAddress", DataType::Utf8),
    ("creditCard", DataType::Utf8),
    ("city", DataType::Utf8),
    ("state", DataType::Utf8),
    ("dateTime", TIMESTAMP),
    ("extra", DataType::Utf8),
];

const AUCTION: &[(&str, DataType)] = &[
    ("id", DataType::Int64),
    ("itemName", DataType::Utf8),
    ("description", DataType::Utf8),
    ("initialBid", DataType::Int64),
    ("reserve", DataType::Int64),
    ("dateTime", TIMESTAMP),
    ("expires", TIMESTAMP),
    ("seller", DataType::Int64),
    ("category", DataType::Int64),
    ("extra", DataType::Utf8),
];

const BID: &[(&str, DataType)] = &[
    ("auction", DataType::Int64),
    ("bidder", DataType::Int64),
    ("price", DataType::Int64),
    ("channel", DataType::Utf8),
    ("url", DataType::Utf8),
    ("dateTime", TIMESTAMP),
    ("extra", DataType::Utf8),
];

/// A column of events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EventColumn {
    /// `event_type`: 0 for a person, 1 for an auction, 2 for a bid.
    EventType,
    /// `person`.
    Person,
    /// `auction`.
    Auction,
    /// `bid`.
    Bid,
}

impl EventColumn {
    pub(super) const ALL: [EventColumn; 4] =
        [EventColumn::EventType, EventColumn::Person, EventColumn::Auction, EventColumn::Bid];

    /// The column's name.
    pub(super) fn name(self) -> &'static str {
        match self {
            EventColumn::EventType => "event_type",
            EventColumn::Person => "person",
            EventColumn::Auction => "auction",
            EventColumn::Bid => "bid",
        }
    }

    /// The column's type.
    pub(super) fn data_type(self) -> DataType {
        match self {
            EventColumn::EventType => DataType::Int32,
            EventColumn::Person => DataType::Struct(fields(PERSON)),
            EventColumn::Auction => DataType::Struct(fields(AUCTION)),
            EventColumn::Bid => DataType::Struct(fields(BID)),
        }
    }

    /// The column's values for some events.
    pub(super) fn of(self, events: &[Event]) -> Result<ArrayRef> {
        match self {
            EventColumn::EventType => {
                let mut types = Int32Builder::with_capacity(events.len());
                events.iter().for_each(|event| types.append_value(event.event_type() as i32));
                Ok(Arc::new(types.finish()))
            }
            EventColumn::Person => rows(PERSON, events, |event, row| match event {
                Event::Person(person) => row.person(person),
                _ => false,
            }),
            EventColumn::Auction => rows(AUCTION, events, |event, row| match event {
                Event::Auction(auction) => row.auction(auction),
                _ => false,
            }),
            EventColumn::Bid => rows(BID, events, |event, row| match event {
                Event::Bid(bid) => row.bid(bid),
                _ => false,
            }),
        }
    }
}

fn fields(columns: &[(&str, DataType)]) -> Fields {
    columns.iter().map(|(name, data_type)| Field::new(*name, data_type.clone(), true)).collect()
}

/// A column of rows: `append` appends an event's and says whether it has one.
fn rows(columns: &[(&str, DataType)], events: &[Event], append: impl Fn(&Event, &mut Row) -> bool) -> Result<ArrayRef> {
    let mut row = Row { builders: columns.iter().map(|(_, data_type)| Builder::new(data_type)).collect(), next: 0 };
    let mut present = NullBufferBuilder::new(events.len());
    for event in events {
        row.next = 0;
        let is_present = append(event, &mut row);
        if !is_present {
            row.builders.iter_mut().for_each(Builder::null);
        }
        present.append(is_present);
    }
    let arrays = row.builders.into_iter().map(Builder::finish).collect();
    let array = StructArray::try_new(fields(columns), arrays, present.finish()).map_err(arrow_error)?;
    Ok(Arc::new(array))
}

/// A row that is being filled, field by field in the order of the columns.
struct Row {
    builders: Vec<Builder>,
    next: usize,
}

enum Builder {
    Number(Int64Builder),
    Text(StringBuilder),
    Time(TimestampMillisecondBuilder),
}

impl Builder {
    fn new(data_type: &DataType) -> Self {
        match data_type {
            DataType::Int64 => Builder::Number(Int64Builder::new()),
            DataType::Utf8 => Builder::Text(StringBuilder::new()),
            _ => Builder::Time(TimestampMillisecondBuilder::new()),
        }
    }

    fn null(&mut self) {
        match self {
            Builder::Number(builder) => builder.append_null(),
            Builder::Text(builder) => builder.append_null(),
            Builder::Time(builder) => builder.append_null(),
        }
    }

    fn finish(self) -> ArrayRef {
        match self {
            Builder::Number(mut builder) => Arc::new(builder.finish()),
            Builder::Text(mut builder) => Arc::new(builder.finish()),
            Builder::Time(mut builder) => Arc::new(builder.finish()),
        }
    }
}

impl Row {
    fn number(&mut self, value: usize) {
        if let Builder::Number(builder) = &mut self.builders[self.next] {
            builder.append_value(value as i64);
        }
        self.next += 1;
    }

    fn text(&mut self, value: &str) {
        if let Builder::Text(builder) = &mut self.builders[self.next] {
            builder.append_value(value);
        }
        self.next += 1;
    }

    fn time(&mut self, value: u64) {
        if let Builder::Time(builder) = &mut self.builders[self.next] {
            builder.append_value(value as i64);
        }
        self.next += 1;
    }

    fn person(&mut self, person: &Person) -> bool {
        self.number(person.id);
        self.text(&person.name);
        self.text(&person.email_address);
        self.text(&person.credit_card);
        self.text(&person.city);
        self.text(&person.state);
        self.time(person.date_time);
        self.text(&person.extra);
        true
    }

    fn auction(&mut self, auction: &Auction) -> bool {
        self.number(auction.id);
        self.text(&auction.item_name);
        self.text(&auction.description);
        self.number(auction.initial_bid);
        self.number(auction.reserve);
        self.time(auction.date_time);
        self.time(auction.expires);
        self.number(auction.seller);
        self.number(auction.category);
        self.text(&auction.extra);
        true
    }

    fn bid(&mut self, bid: &Bid) -> bool {
        self.number(bid.auction);
        self.number(bid.bidder);
        self.number(bid.price);
        self.text(&bid.channel);
        self.text(&bid.url);
        self.time(bid.date_time);
        self.text(&bid.extra);
        true
    }
}
