// Reads lines of a moment in Unix seconds and a schedule; prints the same lines with the schedule's next moment between
// them, `never` or `error`. Schedules on which the reference panics are left out.
//
//	go mod init schedules && go get github.com/aptible/supercronic@v0.2.48 && go run schedules.go < lines.tsv
package main

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/aptible/supercronic/cronexpr"
)

func next(after int64, schedule string) (text string) {
	defer func() {
		if recover() != nil {
			text = ""
		}
	}()
	parsed, err := cronexpr.Parse(schedule)
	if err != nil {
		return "error"
	}
	at := parsed.Next(time.Unix(after, 0).UTC())
	if at.IsZero() {
		return "never"
	}
	return strconv.FormatInt(at.Unix(), 10)
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		moment, schedule, _ := strings.Cut(lines.Text(), "\t")
		after, _ := strconv.ParseInt(moment, 10, 64)
		if text := next(after, schedule); text != "" {
			fmt.Printf("%s\t%s\t%s\n", moment, text, schedule)
		}
	}
}
