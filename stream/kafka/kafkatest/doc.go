// Package kafkatest gives tests a Kafka broker: Fake, inside the process, in
// which failures can be injected, and Real, an Apache Kafka started from the
// jars of Maven Central. Each runs a test on both. Bubble runs one on the fake
// broker in fake time, and BubbleAndReal on the real one too.
//
// Only the real broker proves anything: the fake completes transactions at
// once, ignores LogAppendTime and accepts requests that a new broker refuses.
// In a Bubble it tells the time.
//
// A real broker needs java (17 or later) and mvn. Where they are missing the
// test is skipped, unless the environment says CI=true: then it fails. The
// jars are fetched once, to louver-test in the user's cache directory.
// LOUVER_TEST_KAFKA_VERSION chooses the version.
package kafkatest
